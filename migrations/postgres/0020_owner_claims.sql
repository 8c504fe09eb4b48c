CREATE TABLE "owner_claim" (
  "group_name" text COLLATE "C" PRIMARY KEY NOT NULL,
  "team" text COLLATE "C" NOT NULL,
  "proof" text COLLATE "C" NOT NULL,
  "claimed_at" timestamptz NOT NULL,
  "claimed_by" text COLLATE "C" NOT NULL,
  "checked_at" timestamptz NOT NULL,
  "missing_since" timestamptz,
  "problem" text COLLATE "C"
);
