/** Removes from a SQLite database what the newest migrations added, so that it is one of an earlier version. */
export const DROP_NEWER_TABLES = [
  'ALTER TABLE token DROP COLUMN kind',
  'ALTER TABLE function DROP COLUMN attestations',
  'DROP TABLE release_notes',
  'DROP TABLE access; ALTER TABLE token DROP COLUMN team',
  'DROP TABLE release_words; DROP TABLE function_text_whole',
  'DROP TABLE owner_claim',
  'DROP TABLE login_request; DROP TABLE IF EXISTS one_time_secret; DROP TABLE IF EXISTS operator_session',
  'DROP TABLE consumer; DROP TABLE consumed_release',
  'DROP TABLE scim_member; DROP TABLE scim_group; DROP TABLE scim_user',
  'DROP INDEX token_sign_in; ALTER TABLE token DROP COLUMN sign_in; ALTER TABLE token DROP COLUMN sign_in_key',
  'DROP INDEX token_user; ALTER TABLE token DROP COLUMN user_id; DROP TABLE sign_in; DROP TABLE registry_user',
  'DROP TABLE trusted_publisher; DROP TABLE used_identity_token; ALTER TABLE token DROP COLUMN run; DROP TABLE release_run',
  'DROP TABLE audit; ALTER TABLE token DROP COLUMN revoked_by',
].join('; ');
