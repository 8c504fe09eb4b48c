CREATE TABLE "process" (
  "id" text PRIMARY KEY,
  "started_at" timestamptz NOT NULL,
  "seen_at" timestamptz NOT NULL,
  "shared_blobs" boolean NOT NULL,
  "drained" bigint NOT NULL
);
CREATE TABLE "lease" (
  "name" text PRIMARY KEY,
  "holder" text NOT NULL REFERENCES "process" ("id") ON DELETE CASCADE,
  "number" bigint GENERATED ALWAYS AS IDENTITY,
  "pauses_builds" boolean NOT NULL
);
CREATE FUNCTION "require_process"("of" text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM "process" WHERE "id" = "of") THEN
    RAISE EXCEPTION 'process % is lost', "of" USING ERRCODE = 'KR001';
  END IF;
END
$$;
