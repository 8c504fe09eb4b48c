import { CATALOG_ROUTES } from './catalog-routes.js';
import { FUNCTION_ROUTES } from './function-routes.js';
import { REGISTRY_ROUTES } from './registry-routes.js';
import { SOURCE_ROUTES } from './source-routes.js';

/**
 * Every operation of the HTTP API: the server serves these, and the OpenAPI document is made from them.
 * Query parameters that an operation does not name are refused.
 */
export const ROUTES = {
  ...FUNCTION_ROUTES,
  ...CATALOG_ROUTES,
  ...SOURCE_ROUTES,
  ...REGISTRY_ROUTES,
} as const;

export type RouteName = keyof typeof ROUTES;
