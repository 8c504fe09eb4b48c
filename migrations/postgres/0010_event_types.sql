ALTER TABLE "event"
  ALTER COLUMN "at" TYPE timestamptz USING "at"::timestamptz;
