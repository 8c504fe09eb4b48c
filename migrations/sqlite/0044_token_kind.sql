ALTER TABLE "token" ADD COLUMN "kind" text;
