import { z } from '@hono/zod-openapi';

/** Query parameter with the page of a list. */
export const PageNumber = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'is not a page number (1, 2, …)')
  .transform(Number)
  .default(1);
