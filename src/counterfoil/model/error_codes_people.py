"""What is refused to people: who they are, what they may, and how they ask."""

from counterfoil.model.error_code import MISSING, UNKNOWN, USAGE, ErrorCode

PEOPLE = (
    # people
    ErrorCode("unknown_person", "There is no person {name}.", "List them with `counterfoil people list`.", UNKNOWN),
    ErrorCode("person_exists", "There is a person {name} already.", "Choose another name; nothing was changed."),
    ErrorCode("wrong_secret", "The secret of {name} is wrong.", "Nothing was decided. Try again with the right one."),
    ErrorCode(
        "person_revoked",
        "{name} was revoked at {at}.",
        "Ask somebody with the role; nothing was decided.",
    ),
    ErrorCode(
        "role_missing",
        "{name} does not hold the role {role}.",
        "Ask somebody with the role; nothing was decided.",
    ),
    ErrorCode(
        "not_permitted",
        "{name} may not {act} here.",
        "Ask somebody who may, or an administrator for a grant: `counterfoil roles grant`. Nothing was changed.",
    ),
    ErrorCode(
        "sign_in_refused",
        "The name or the secret is wrong, or the person was revoked.",
        "Nothing was changed. Try again with the right ones.",
    ),
    ErrorCode(
        "token_invalid",
        "The token is unknown, expired or revoked.",
        "Nothing was changed. Make another with `counterfoil tokens create`.",
    ),
    ErrorCode(
        "provider_refused",
        "The sign-in by the provider is refused: {problem}.",
        "Nothing was changed. Begin the sign-in again; an administrator adds people with `counterfoil people add`.",
    ),
    ErrorCode(
        "provider_unreachable",
        "The provider {issuer} cannot be asked: {problem}.",
        "Nothing was changed. Try again, or sign in with your secret.",
        MISSING,
    ),
    ErrorCode("session_over", "The session is over.", "Nothing was changed. Sign in again."),
    # over HTTP
    ErrorCode(
        "not_signed_in",
        "Nobody is signed in.",
        "Nothing was changed. Sign in, or send `Authorization: Bearer` with a token.",
    ),
    ErrorCode(
        "foreign_request",
        "The request does not come from this console's own pages: {problem}.",
        "Nothing was changed. Send it from the console, or with a token.",
    ),
    ErrorCode(
        "method_unknown",
        "Nothing here is done by {method}.",
        "Read the API's description, /api/v1/openapi.json; nothing was changed.",
        USAGE,
    ),
    ErrorCode(
        "no_answer",
        "The console at {url} gave no answer: {problem}.",
        "Ask again: a submission, a signal and an answer are stored once.",
        MISSING,
    ),
    ErrorCode(
        "too_many",
        "Too many tries for this {what}.",
        "Nothing was changed. Try again in {seconds} s.",
    ),
    ErrorCode(
        "too_slow",
        "The request did not come within {seconds} s.",
        "Nothing was changed. Send it again.",
    ),
    ErrorCode(
        "own_proposal",
        "{name} proposed this, or asked for this version, and does not approve it.",
        "Ask another person with the role {role}, or declare the installation single_person at `init`.",
    ),
    ErrorCode(
        "approval_unsigned",
        "This installation has approval keys, and no private key is here to sign the approval with.",
        "Name its file in COUNTERFOIL_APPROVAL_KEY, or answer where it is; nothing was decided.",
    ),
    ErrorCode(
        "approval_key_unusable",
        "The approval key {where} is not used: {problem}.",
        "Name another file in COUNTERFOIL_APPROVAL_KEY, or put this one in order; nothing was decided.",
    ),
    ErrorCode(
        "signature_invalid",
        "The signature of this answer does not hold: {problem}.",
        "Look at the review again and answer anew; nothing was decided.",
    ),
    ErrorCode(
        "link_unsigned",
        "No approval key that counts is here to sign a link with.",
        "Make the link where answers are given, or make a key with `counterfoil keys add`; no link was made.",
    ),
    ErrorCode(
        "link_invalid",
        "This link does not count: {problem}.",
        "Open the review from the inbox, or ask who sent the link for another; nothing was decided.",
    ),
    ErrorCode(
        "link_not_yours",
        "This link is for {for_}; you are signed in as {name}.",
        "Sign in as whom it is for, or look into your own inbox; nothing was decided.",
    ),
    ErrorCode(
        "link_used",
        "{name} answered review {review_id} through this link at {at}; a link is used once.",
        "Read on the review's page what became of the answer; nothing was changed.",
    ),
    ErrorCode(
        "link_stale",
        "This link asks about another version than review {review_id} does now.",
        "Read what is asked now on the review's page and answer there; nothing was decided.",
    ),
    ErrorCode(
        "link_closed",
        "Review {review_id} is {state}; nothing is answered through a link any more.",
        "Read on the review's page who decided; nothing was changed.",
    ),
    ErrorCode(
        "link_expired",
        "This link to review {review_id} ended at {at}.",
        "Answer on the review's page if it is still open; nothing was decided.",
    ),
    ErrorCode(
        "last_approval_key",
        "{key_id} is the last approval key: without one nothing that needs a review is ever sent.",
        "Add another one first: `counterfoil keys add`.",
    ),
    ErrorCode(
        "own_action",
        "{name} proposed or approved this and does not resolve it alone.",
        "Ask another person, or declare the installation single_person at `init`.",
    ),
    ErrorCode(
        "unknown_owner",
        "{where} names {owner}, who is neither a person nor a role somebody holds.",
        "Add the person with `counterfoil people add`; nothing was started.",
    ),
)
