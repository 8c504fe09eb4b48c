import type { CelFunc, CelInput, CelMap } from '@bufbuild/cel';
import { isUri } from '../../json-schema/value-formats.js';
import { loadCel } from '../../libraries/lazy-libraries.js';
import { tagged, untagged } from './tagged.js';

interface Parts {
  scheme: string;
  /** With the port. */
  host: string;
  path: string;
  query: string;
}

/**
 * The functions of Kubernetes for URLs: absolute ones, and absolute paths.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-url-library
 */
export function urlFunctions(): CelFunc[] {
  const { CelScalar, celFunc, celMethod, listType, mapType } = loadCel();
  const { BOOL, DYN, STRING } = CelScalar;
  const [MAP, QUERY] = [mapType(DYN, DYN), mapType(STRING, listType(STRING))];
  const getter = (name: string, get: (parts: Parts) => string) =>
    celMethod(name, MAP, [], STRING, function () {
      return get(readParts(this));
    });
  return [
    celFunc('isURL', [STRING], BOOL, isUri),
    celFunc('url', [STRING], DYN, (text) => {
      if (!isUri(text)) throw new Error(`${JSON.stringify(text)} is not a URL`);
      return tagged('url', text);
    }),
    getter('getScheme', ({ scheme }) => scheme),
    getter('getHost', ({ host }) => host),
    getter('getHostname', ({ host }) => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')),
    getter('getPort', ({ host }) => /:(\d+)$/.exec(host)?.[1] ?? ''),
    getter('getEscapedPath', ({ path }) => escapePath(path)),
    celMethod('getQuery', MAP, [], QUERY, function () {
      const found = new Map<string, string[]>();
      for (const [name, value] of new URLSearchParams(readParts(this).query)) {
        const values = found.get(name);
        if (values === undefined) found.set(name, [value]);
        else values.push(value);
      }
      return found as unknown as CelInput<typeof QUERY>;
    }),
  ];
}

function readParts(value: CelMap): Parts {
  const text = untagged('url', value);
  if (typeof text !== 'string') throw new Error('the value is not a URL');
  // Go reads a URL of a request without a fragment: a # belongs to the path or the query.
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/is.exec(text) ?? [];
  return { scheme: scheme.toLowerCase(), host: authority.slice(authority.lastIndexOf('@') + 1), path, query };
}

function escapePath(path: string): string {
  return path.replace(/[^\w%!$&'()*+,;=:@/.~-]/gu, encodeURIComponent);
}
