import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { definitionText } from '../../../registry/src/test-registry.js';

/** Catalogs of others as tests need them: on the loopback interface, and with functions of any name. */

export interface CatalogServer {
  /** `http://127.0.0.1:PORT` */
  origin: string;
  /** What it has, by path; the rest is not found. */
  served: Map<string, Uint8Array | string>;
  close(): void;
}

export async function catalogServer(): Promise<CatalogServer> {
  const served = new Map<string, Uint8Array | string>();
  const server = createServer((request, response) => {
    const body = served.get(request.url ?? '');
    if (body === undefined) return response.writeHead(404).end();
    return response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, served, close };
}

/** A catalog of functions, each as `definitionText` has it; `more` follows as further entries. */
export function catalogText(
  group: string,
  kinds: readonly string[],
  { more = '', description }: { more?: string; description?: string } = {},
): string {
  const entries = kinds.map((kind) => {
    const text = definitionText({ group, kind, release: '1.0.0', ...(description && { description }) });
    const spec = text.split('spec:\n')[1]!;
    return spec
      .replace(/^ {2}/, '  - ')
      .replace(/\n {2}/g, '\n    ')
      .trimEnd();
  });
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: theirs}
spec:
  krmFunctions:
${entries.join('\n')}
${more}`;
}

export function recipeText(sources: string, policy = '', name = 'platform'): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
${sources}${policy}`;
}

/** `more` follows the address in the mapping of the catalog, and `rest` the mapping. */
export function sourceText(name: string, url: string, more = '', rest = ''): string {
  return `  - name: ${name}\n    catalog: {url: "${url}"${more}}\n${rest}`;
}

export const OUR_FUNCTIONS = '  - name: ours\n    functions: {}\n';
