import { OpenAPIHono } from '@hono/zod-openapi';
import { ROUTES } from './routes.js';

/** The OpenAPI 3.1 document of every route, for a registry at `serverUrl`, or for any where it is not given. */
export function openApiDocument(serverUrl?: string): object {
  const { openAPIRegistry, getOpenAPI31Document } = new OpenAPIHono();
  openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token that begins with `krmhub_`. Only operations that change something need one.',
  });
  for (const route of Object.values(ROUTES)) openAPIRegistry.registerPath(route);
  return getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'krmhub',
      version: 'v1',
      description:
        'The registry for KRM functions: releases of function definitions, and catalogs cut from them.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    ...(serverUrl === undefined ? {} : { servers: [{ url: serverUrl }] }),
  });
}
