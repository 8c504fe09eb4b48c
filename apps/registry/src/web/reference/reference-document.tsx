import type { Derivation } from '../../workers/derive/derivation.js';
import { apiPath } from '../addresses.js';
import { readAssets } from '../assets.js';
import { renderPage } from '../page-response.js';
import { createSite } from '../site.js';
import type { ApiDocument } from './openapi-model.js';
import { ReferencePage } from './reference-page.js';

/** A page of the HTTP API. It depends only on the program, so it is rendered once. */
export const API_REFERENCE: Derivation<{ part: string; isIndexed: boolean }> = {
  name: 'api-reference',
  async derive({ config }, { part }) {
    const { openApiDocument } = await import('@krmhub/api/openapi');
    const document = openApiDocument(config.publicUrl) as ApiDocument;
    return renderPage(createSite(config, readAssets()), {
      head: {
        title: part === '' ? 'HTTP API' : `HTTP API: ${part}`,
        description: 'The operations, parameters, and schemas of the HTTP API of this registry.',
        path: apiPath(part),
        section: 'api',
      },
      body: <ReferencePage document={document} part={part} />,
    });
  },
};
