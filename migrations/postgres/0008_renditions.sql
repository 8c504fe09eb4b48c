-- Processes of older versions do not know these tables. None runs, and none joins again.
DELETE FROM "process";
ALTER TABLE "process" ADD COLUMN "tables_version" bigint NOT NULL CHECK ("tables_version" >= 2);
ALTER TABLE "form" RENAME TO "rendition";
ALTER INDEX "form_pkey" RENAME TO "rendition_pkey";
ALTER INDEX "form_blob" RENAME TO "rendition_blob";
ALTER TABLE "profile_form" RENAME TO "profile_rendition";
ALTER INDEX "profile_form_pkey" RENAME TO "profile_rendition_pkey";
ALTER TABLE "loose_entry" RENAME TO "unused_entry";
ALTER INDEX "loose_entry_pkey" RENAME TO "unused_entry_pkey";
