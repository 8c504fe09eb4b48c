/** Checks the runtimes of each API version, and that there is one. */

import type { Path } from '../diagnostics/diagnostic.js';
import { type JsonValue, RUNTIME_KINDS, type RuntimeKind } from '../documents/definition.js';
import { listVersions, objectField } from '../json/access.js';
import { checkContainer } from './container.js';
import { checkExec, checkScript } from './program.js';
import type { Report, Rule } from './rule.js';

/** What each kind is checked for, besides its JSON Schema. `runtime` can have any type. */
const CHECKS: Record<RuntimeKind, (runtime: JsonValue, at: Path, report: Report) => void> = {
  container: checkContainer,
  exec: checkExec,
  starlark: checkScript,
};

export const runtimes: Rule = (draft, report) => {
  for (const { version, path } of listVersions(draft.spec)) {
    const runtime = objectField(version, 'runtime');
    if (runtime === undefined) continue;
    const at = [...path, 'runtime'];
    if (Object.keys(runtime).length === 0) report('runtime/none', at, 'the API version has no runtime');
    for (const kind of RUNTIME_KINDS) {
      const value = Object.hasOwn(runtime, kind) ? runtime[kind] : undefined;
      if (value !== undefined) CHECKS[kind](value, [...at, kind], report);
    }
  }
};
