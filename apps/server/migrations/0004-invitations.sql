-- An invitation names groups with the user that it makes, and whoever declines it leaves them: identity work, done before
-- the person has a session in the tenant.

grant insert, delete on group_members to atrium_credential;
