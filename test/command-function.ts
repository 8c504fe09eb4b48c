import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { runTest } from '../apps/cli/src/testing/command-line.js';

/**
 * The bash function `krmhub`, which runs the command line in the process of the test: most of the time of a
 * short command is the start of its process. It passes on the arguments, variables, folder and stdin.
 */
const FUNCTION = `krmhub() {
  local call code
  call=$(mktemp -d "$TEST_CALLS/call-XXXXXX")
  printf '%s\\0' "$@" > "$call/args"
  env -0 > "$call/env"
  pwd > "$call/cwd"
  if [ -p /dev/stdin ] || [ -f /dev/stdin ]; then cat > "$call/stdin"; else : > "$call/stdin"; fi
  code=$(curl -sS --unix-socket "$TEST_CALLS/socket" "http://test/\${call##*/}")
  cat "$call/stderr" >&2
  # The reader may end early, as \`head\` does.
  cat "$call/stdout" || true
  return "$code"
}
`;

export interface CommandFunction {
  /** The start of a script that calls `krmhub`. */
  script: string;
  env: { TEST_CALLS: string };
  close(): void;
}

/** Serves the calls of the function through files in an empty folder. */
export async function serveCommandFunction(folder: string): Promise<CommandFunction> {
  const server = createServer(async ({ url }, response) => {
    const call = path.join(folder, path.basename(url!));
    const read = (name: string) => readFileSync(path.join(call, name), 'utf8');
    const list = (name: string) => read(name).split('\0').slice(0, -1);
    const env = list('env').map((variable) => {
      const end = variable.indexOf('=');
      return [variable.slice(0, end), variable.slice(end + 1)];
    });
    const io = await runTest(list('args'), {
      cwd: read('cwd').trimEnd(),
      env: Object.fromEntries(env),
      stdin: readFileSync(path.join(call, 'stdin')),
    });
    writeFileSync(path.join(call, 'stdout'), io.outBytes());
    writeFileSync(path.join(call, 'stderr'), io.err());
    response.end(String(io.exitCode));
  });
  await new Promise<void>((resolve) => server.listen(path.join(folder, 'socket'), resolve));
  return { script: FUNCTION, env: { TEST_CALLS: folder }, close: () => void server.close() };
}
