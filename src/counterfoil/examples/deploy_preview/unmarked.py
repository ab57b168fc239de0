"""The same, but the comment carries no marker. Do not copy: the drill counts two comments.

The lookup asks for what nobody wrote, so what is there does not show, and "not there" allows another try.
"""

from counterfoil import App, Call, Run
from counterfoil.connectors import github
from counterfoil.examples.deploy_preview.app import BUDGET, OURS, Preview, Pushed, previewing, said

app = App("deploy-preview-unmarked")
preview = previewing(app)


@app.operation(receiver="github", contract=github.comment_contract(OURS), business_key="number", owner="platform")
async def plain_comment(call: Call, comment: github.Comment) -> github.CommentReceipt:
    """The mistake: a comment that nobody can tell from another."""
    place = f"/repos/{comment.repository}/issues/{comment.issue}/comments"
    made = (await call.http.post(place, json={"body": comment.body}, headers=github.ACCEPT)).json()
    return github.CommentReceipt(reference=str(made["id"]))


@app.workflow(version=1, budget=BUDGET)
async def deploy(run: Run, pushed: Pushed) -> github.CommentReceipt:
    """A preview, and then the comment that names it."""
    asked = Preview(number=pushed.number, repository=pushed.repository, commit=pushed.commit)
    made = await run.perform(preview, asked)
    return await run.perform(plain_comment, said(pushed, made))
