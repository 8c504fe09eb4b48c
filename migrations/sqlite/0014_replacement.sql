ALTER TABLE "event" ADD COLUMN "replacement" text;
