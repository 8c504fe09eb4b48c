ALTER TABLE "function" ADD COLUMN "attestations" text COLLATE "C" DEFAULT '[]' NOT NULL;
