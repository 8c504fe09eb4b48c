import type { RouteConfig } from '@hono/zod-openapi';
import type { RegistryApp } from '../../environment.js';
import { pageAnswer } from '../page-answer.js';
import { acceptsPage } from '../wants-page.js';
import type { WebParts } from '../web-routes.js';
import { FIRST_PAGE } from './first-page-text.js';
import { HomePage } from './home-page.js';

export const HOME_ROUTES = {
  home: { method: 'get', path: '/', responses: {} },
} as const satisfies Record<string, RouteConfig>;

/** `/` answers browsers with a page, and everybody else with text. */
export function homeRoutes(app: RegistryApp, { site }: WebParts): void {
  app.get('/', async (c) => {
    c.set('route', '/');
    if (!acceptsPage(c.req.header('accept'))) return c.text(FIRST_PAGE, 200, { Vary: 'Accept' });
    c.get('limits').countBy(c, 'read');
    return pageAnswer(c, site, {
      head: { title: 'krmhub', path: '/', search: null },
      body: <HomePage />,
    });
  });
}
