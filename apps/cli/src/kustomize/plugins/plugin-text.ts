import { shellQuote } from '@krmhub/schema/text';
import { formatPlugin, type PluginName } from './plugin-folder.js';

/** The programs that a plugin starts. */
export interface PluginProgram {
  /** Absolute path of Node.js. */
  node: string;
  /** Absolute path of the built `plugin.js`. */
  entry: string;
}

/**
 * Returns the text of a plugin: a script that starts the entry with its own path, which the record is beside. It says
 * what to do if krmhub was moved, because nothing else would.
 */
export function pluginText(name: PluginName, { node, entry }: PluginProgram): string {
  return `#!/bin/sh
# Runs ${formatPlugin(name)} for kustomize. Written by krmhub, which overwrites changes.
node=${shellQuote(node)}
entry=${shellQuote(entry)}
if [ ! -x "$node" ] || [ ! -f "$entry" ]; then
  echo "error: cannot run ${formatPlugin(name)}: Node.js or krmhub was moved or removed" >&2
  echo "  hint: Update the plugins: krmhub plugins update" >&2
  exit 1
fi
exec "$node" "$entry" "$0" "$@"
`;
}
