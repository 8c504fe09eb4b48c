ALTER TABLE "form" RENAME TO "rendition";
--> statement-breakpoint
DROP INDEX "form_blob";
--> statement-breakpoint
CREATE INDEX "rendition_blob" ON "rendition" ("blob");
--> statement-breakpoint
ALTER TABLE "profile_form" RENAME TO "profile_rendition";
--> statement-breakpoint
ALTER TABLE "loose_entry" RENAME TO "unused_entry";
