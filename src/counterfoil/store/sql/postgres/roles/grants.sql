-- Two roles for one ledger, given by whoever owns its schema. {worker} drives runs and writes no answer; {console} is where people answer.
-- May be run again, and is run again after an update that added tables.

DO $roles$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {worker_text}) THEN CREATE ROLE {worker} LOGIN; END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {console_text}) THEN CREATE ROLE {console} LOGIN; END IF;
END $roles$;

GRANT USAGE ON SCHEMA {schema} TO {worker}, {console};
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {worker}, {console};
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {worker}, {console};
GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {worker}, {console};
GRANT DELETE ON {schema}.writers, {schema}.slots, {schema}.taps, {schema}.workers, {schema}.notices, {schema}.sessions, {schema}.samples, {schema}.spans,
    {schema}.tallies, {schema}.duties, {schema}.lost_runs, {schema}.statement_lines TO {worker}, {console};

-- Evidence is append-only, for both.
REVOKE UPDATE ON {schema}.entries FROM {worker}, {console};
REVOKE INSERT, UPDATE ON {schema}.counterfoil_schema FROM {worker}, {console};

-- What only people say and decide.
REVOKE INSERT, UPDATE ON {schema}.answers, {schema}.people, {schema}.grants, {schema}.tokens, {schema}.identities, {schema}.approval_keys,
    {schema}.waivers, {schema}.comments, {schema}.sessions FROM {worker};

-- A worker opens reviews, lets them expire and uses them up. That one is answered, and by whom, it cannot write; nor an answer in the journal.
CREATE OR REPLACE FUNCTION {schema}.counterfoil_people_answer() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $answers$
BEGIN
    IF NOT pg_has_role(current_user, {worker_text}, 'USAGE') OR pg_has_role(current_user, {console_text}, 'USAGE') THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'entries' OR TG_OP = 'INSERT' THEN
        RAISE EXCEPTION 'the role % writes no answer', current_user USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- What an approval covers stays, and what uses it up or voids it is never taken back.
    IF (NEW.state IN ('approved', 'rejected') AND NEW.state <> OLD.state)
        OR (NEW.reviewer, NEW.decided_at, NEW.comment, NEW.digest, NEW.operation_id, NEW.run_id, NEW.proposal_version, NEW.scope, NEW.expires_at, NEW.incarnation, NEW.needed)
            IS DISTINCT FROM
            (OLD.reviewer, OLD.decided_at, OLD.comment, OLD.digest, OLD.operation_id, OLD.run_id, OLD.proposal_version, OLD.scope, OLD.expires_at, OLD.incarnation, OLD.needed)
        OR (OLD.used_by IS NOT NULL AND NEW.used_by IS DISTINCT FROM OLD.used_by)
        OR (OLD.void IS NOT NULL AND NEW.void IS NULL) THEN
        RAISE EXCEPTION 'the role % writes no answer', current_user USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $answers$;

DROP TRIGGER IF EXISTS counterfoil_reviews_answered ON {schema}.reviews;
CREATE TRIGGER counterfoil_reviews_answered AFTER UPDATE ON {schema}.reviews
    FOR EACH ROW EXECUTE FUNCTION {schema}.counterfoil_people_answer();
DROP TRIGGER IF EXISTS counterfoil_reviews_opened ON {schema}.reviews;
CREATE TRIGGER counterfoil_reviews_opened AFTER INSERT ON {schema}.reviews
    FOR EACH ROW WHEN (NEW.state <> 'open' OR NEW.reviewer IS NOT NULL) EXECUTE FUNCTION {schema}.counterfoil_people_answer();
DROP TRIGGER IF EXISTS counterfoil_entries_answered ON {schema}.entries;
CREATE TRIGGER counterfoil_entries_answered AFTER INSERT ON {schema}.entries
    FOR EACH ROW WHEN (NEW.kind = 'answer') EXECUTE FUNCTION {schema}.counterfoil_people_answer();
