ALTER TABLE "catalog" ADD COLUMN "deleted" text;
