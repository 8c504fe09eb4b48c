import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RegistryClient } from '@krmhub/api/client';

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

export interface TestFunction {
  group?: string;
  kind: string;
  release?: string;
  description?: string;
}

/** A definition without errors and warnings. */
export function definitionText(definition: TestFunction): string {
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
${specText(definition)}`;
}

/** A catalog of functions; `more` follows as further entries. */
export function catalogText(
  group: string,
  kinds: readonly string[],
  { more = '', ...rest }: { more?: string; description?: string } = {},
): string {
  const entries = kinds.map((kind) =>
    specText({ group, kind, ...rest })
      .replace(/^ {2}/, '  - ')
      .replace(/\n {2}/g, '\n    '),
  );
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: theirs}
spec:
  krmFunctions:
${entries.join('')}${more}`;
}

function specText({ group = 'example.com', kind, release = '1.0.0', description }: TestFunction): string {
  return `  group: ${group}
  names: {kind: ${kind}}
  description: ${description ?? `${kind} does what its name says.`}
  publisher: Example Co
  home: https://example.com/${kind}
  maintainers: [team@example.com]
  tags: [mutator]
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        description: How ${kind} is configured.
        properties:
          labels:
            type: object
            description: Labels to set.
            additionalProperties: {type: string}
    idempotent: true
    runtime:
      container:
        image: registry.example.com/${kind.toLowerCase()}:v${release}
        sha256: ${'a'.repeat(64)}
    usage: https://example.com/${kind}/usage.md
    examples: [https://example.com/${kind}/example.yaml]
    license: Apache-2.0
`;
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

/** Publishes what `OUR_FUNCTIONS` takes: two functions, one of them in two releases. */
export async function publishOurs(client: RegistryClient): Promise<void> {
  for (const [kind, release] of [
    ['SetLabels', '1.0.0'],
    ['SetLabels', '1.1.0'],
    ['Apply', '0.1.0'],
  ] as const) {
    const definition = new TextEncoder().encode(definitionText({ kind, release }));
    const name = { group: 'example.com', kind, release, mediaType: 'application/yaml' as const };
    await client.publish({ ...name, definition, wait: true });
  }
}
