import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FunctionDefinition } from '@krmhub/schema';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An upstream web server on this machine, whose response can be changed while it runs. */
export interface UpstreamServer {
  /** Of a catalog. */
  url: string;
  answer: Answer;
  close(): Promise<void>;
}

export async function startUpstreamServer(answer: Answer): Promise<UpstreamServer> {
  const server = createServer((request, response) => {
    // A client under attack ends connections in the middle.
    response.on('error', () => undefined);
    upstream.answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upstream: UpstreamServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/catalog.yaml`,
    answer,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return upstream;
}

export function giving(text: string | Uint8Array): Answer {
  return (_, response) => void response.writeHead(200, { 'Content-Type': 'application/yaml' }).end(text);
}

/** A catalog of functions of a group, with the given texts in its entries. */
export function catalogOf(group: string, entries: Readonly<Record<string, string>>, more = ''): string {
  const list = Object.entries(entries).map(([kind, description]) =>
    JSON.stringify(functionOf(group, kind, description)),
  );
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: theirs}
spec:
  krmFunctions:
${list.map((entry) => `  - ${entry}\n`).join('')}${more}`;
}

export function functionOf(group: string, kind: string, description: string): FunctionDefinition {
  const image = `registry.example.com/${kind.toLowerCase()}:v1.0.0`;
  const version = functionVersion('v1', { runtime: { container: { image, sha256: 'b'.repeat(64) } } });
  return functionDefinition({ group, names: { kind }, description, versions: [version] });
}
