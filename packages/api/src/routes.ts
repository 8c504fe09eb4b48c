/**
 * The contract of the HTTP API: its routes, the models of their JSON, and a client.
 *
 * The server, the OpenAPI document, and the schemas that the client checks responses with are made from the routes, so
 * they cannot differ. The client imports only types of the models and the generated schemas, so that a command does not
 * load zod.
 *
 * @module
 */

import { ACCESS_ROUTES } from './access-routes.js';
import { CATALOG_ROUTES } from './catalog-routes.js';
import { CONSUMER_ROUTES } from './consumer-routes.js';
import { FUNCTION_ROUTES } from './function-routes.js';
import { LOGIN_ROUTES } from './login-routes.js';
import { OWNER_ROUTES } from './owner-routes.js';
import { REGISTRY_ROUTES } from './registry-routes.js';
import { RENOVATE_ROUTES } from './renovate-routes.js';
import { SOURCE_ROUTES } from './source-routes.js';
import { TRUSTED_PUBLISHER_ROUTES } from './trusted-publisher-routes.js';
import { USER_ROUTES } from './user-routes.js';

/**
 * Every operation of the HTTP API. The server, the OpenAPI document and the response schemas of the client use them.
 * Requests with other query parameters are rejected.
 */
export const ROUTES = {
  ...FUNCTION_ROUTES,
  ...CATALOG_ROUTES,
  ...CONSUMER_ROUTES,
  ...SOURCE_ROUTES,
  ...OWNER_ROUTES,
  ...TRUSTED_PUBLISHER_ROUTES,
  ...LOGIN_ROUTES,
  ...REGISTRY_ROUTES,
  ...RENOVATE_ROUTES,
  ...ACCESS_ROUTES,
  ...USER_ROUTES,
} as const;

export type RouteName = keyof typeof ROUTES;
