import { OpenAPIHono } from '@hono/zod-openapi';
import { defined } from '@krmhub/schema/defined';
import { ROUTES } from './routes.js';

/** Returns the OpenAPI 3.1 document of all routes. `serverUrl` is the public URL of the registry. */
export function openApiDocument(serverUrl?: string): object {
  const { openAPIRegistry, getOpenAPI31Document } = new OpenAPIHono();
  openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token that starts with `krmhub_`. Most read operations do not require a token.',
  });
  for (const route of Object.values(ROUTES)) openAPIRegistry.registerPath(route);
  return getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'krmhub',
      version: 'v1',
      description:
        'The registry for KRM functions: releases of function definitions, and catalogs built from them.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    ...defined({ servers: serverUrl === undefined ? undefined : [{ url: serverUrl }] }),
  });
}
