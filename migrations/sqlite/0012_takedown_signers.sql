ALTER TABLE "takedown" ADD COLUMN "signers" text;
