-- Several audit rows of one statement as links of a chain: each of them over the one before it. By recursion it took as many
-- passes over all of them as there are.

create function app_audit_link(state bytea, digest bytea, head bytea) returns bytea language plpgsql immutable parallel safe as $$
begin
  return case
    when state is not null then sha256(state || digest)
    when head = '' then digest
    else sha256(head || digest)
  end;
end $$;

create aggregate app_audit_chain(digest bytea, head bytea) (sfunc = app_audit_link, stype = bytea, parallel = safe);
comment on aggregate app_audit_chain(bytea, bytea) is 'For a window of rows up to the current one: its hash in a chain that ended with this head; empty where it begins.';
