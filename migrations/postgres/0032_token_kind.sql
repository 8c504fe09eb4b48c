ALTER TABLE "token" ADD COLUMN "kind" text COLLATE "C";
