-- PostgreSQL has no text with U+0000, and none with half of a surrogate pair.
CREATE FUNCTION "read_jsonb"("text" text) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN "text"::jsonb;
EXCEPTION WHEN data_exception THEN
  RETURN regexp_replace("text", '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::jsonb;
END
$$;
-- A clock that never ran is before all times.
ALTER TABLE "catalog"
  ALTER COLUMN "clock" DROP DEFAULT,
  ALTER COLUMN "applied_at" TYPE timestamptz USING "applied_at"::timestamptz,
  ALTER COLUMN "clock" TYPE timestamptz USING coalesce(nullif("clock", ''), '-infinity')::timestamptz,
  ALTER COLUMN "clock" SET DEFAULT '-infinity',
  ALTER COLUMN "deleted" TYPE jsonb USING "read_jsonb"("deleted");
ALTER TABLE "snapshot"
  ALTER COLUMN "created_at" TYPE timestamptz USING "created_at"::timestamptz;
ALTER TABLE "snapshot_signature"
  ALTER COLUMN "signed_at" TYPE timestamptz USING "signed_at"::timestamptz,
  ALTER COLUMN "expires_at" TYPE timestamptz USING "expires_at"::timestamptz;
