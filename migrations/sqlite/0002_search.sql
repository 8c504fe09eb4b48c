DROP TABLE "function_facet";
--> statement-breakpoint
DROP INDEX "function_listing";
--> statement-breakpoint
DROP INDEX "function_kind";
--> statement-breakpoint
DROP INDEX "function_publisher";
