ALTER TABLE "takedown" ADD COLUMN "scripts" text;
