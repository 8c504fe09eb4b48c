-- Processes of older versions would misread the types.
DELETE FROM "process";
ALTER TABLE "process" DROP CONSTRAINT "process_tables_version_check", ADD CHECK ("tables_version" >= 3);
-- Flags are booleans, and times have the type of times.
ALTER TABLE "function"
  ALTER COLUMN "network" DROP DEFAULT,
  ALTER COLUMN "storage" DROP DEFAULT,
  ALTER COLUMN "pinned" DROP DEFAULT,
  ALTER COLUMN "yanked" TYPE boolean USING "yanked" <> 0,
  ALTER COLUMN "deprecated" TYPE boolean USING "deprecated" <> 0,
  ALTER COLUMN "network" TYPE boolean USING "network" <> 0,
  ALTER COLUMN "storage" TYPE boolean USING "storage" <> 0,
  ALTER COLUMN "pinned" TYPE boolean USING "pinned" <> 0,
  ALTER COLUMN "network" SET DEFAULT false,
  ALTER COLUMN "storage" SET DEFAULT false,
  ALTER COLUMN "pinned" SET DEFAULT false;
ALTER TABLE "release"
  ALTER COLUMN "published_at" TYPE timestamptz USING "published_at"::timestamptz;
ALTER TABLE "policy"
  ALTER COLUMN "applied_at" TYPE timestamptz USING "applied_at"::timestamptz;
ALTER TABLE "takedown"
  ALTER COLUMN "finished" TYPE boolean USING "finished" <> 0;
ALTER TABLE "takedown"
  ALTER COLUMN "at" TYPE timestamptz USING "at"::timestamptz;
