CREATE TABLE "owner_claim" (
  "group_name" text PRIMARY KEY NOT NULL,
  "team" text NOT NULL,
  "proof" text NOT NULL,
  "claimed_at" text NOT NULL,
  "claimed_by" text NOT NULL,
  "checked_at" text NOT NULL,
  "missing_since" text,
  "problem" text
);
