ALTER TABLE "token"
  ALTER COLUMN "created_at" TYPE timestamptz USING "created_at"::timestamptz,
  ALTER COLUMN "expires_at" TYPE timestamptz USING "expires_at"::timestamptz,
  ALTER COLUMN "last_used_at" TYPE timestamptz USING "last_used_at"::timestamptz,
  ALTER COLUMN "revoked_at" TYPE timestamptz USING "revoked_at"::timestamptz;
ALTER TABLE "operator_session"
  ALTER COLUMN "expires_at" TYPE timestamptz USING "expires_at"::timestamptz;
ALTER TABLE "one_time_secret"
  ALTER COLUMN "expires_at" TYPE timestamptz USING "expires_at"::timestamptz;
