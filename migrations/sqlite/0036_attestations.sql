ALTER TABLE "function" ADD COLUMN "attestations" text DEFAULT '[]' NOT NULL;
