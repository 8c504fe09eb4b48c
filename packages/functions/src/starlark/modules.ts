import { EvaluationError, STANDARD_MODULES, type Value } from '@krmhub/starlark';
import { CSV } from './csv-module.js';
import { KRMFN } from './krmfn-module.js';
import { MODULE_FILES } from './module-files.js';
import { UnavailableModule } from './unavailable-module.js';
import { YAML } from './yaml-module.js';

/** The modules that know Kubernetes, and those for other text. */
const OWN_MODULES: Readonly<Record<string, Value>> = { krmfn: KRMFN, yaml: YAML, csv: CSV };

/** Returns the names in a file that a script loads. Nothing is read from a disk. */
export function loadModule(file: string): ReadonlyMap<string, Value> {
  const found = MODULE_FILES.get(file);
  if (found === undefined) {
    const known = [...MODULE_FILES].flatMap(([name, { unavailable }]) =>
      unavailable === undefined ? [name] : [],
    );
    throw new EvaluationError(`no such module; functions have ${known.join(', ')}`);
  }
  const { names, unavailable } = found;
  const standard = STANDARD_MODULES.get(file) ?? STANDARD_MODULES.get(`encoding/${file}`);
  return new Map(
    names.map((name) => [
      name,
      unavailable === undefined
        ? (OWN_MODULES[name] ?? standard!.get(name)!)
        : new UnavailableModule(name, unavailable),
    ]),
  );
}
