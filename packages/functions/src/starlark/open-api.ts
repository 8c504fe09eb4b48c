import { brotliDecompressSync } from 'node:zlib';
import type { Value } from '@krmhub/starlark';
import { schemasValue } from './context.js';
import { KUBERNETES_SCHEMAS } from './kubernetes-schemas.js';

/** Returns `ctx.open_api`: a dict with the `definitions` of the types of Kubernetes. */
export function openApi(): Value {
  return schemasValue(brotliDecompressSync(Buffer.from(KUBERNETES_SCHEMAS, 'base64')).toString('utf8'));
}
