import { escapeControls, oneLine } from '@krmhub/schema/text';
import type { Io, Output } from '../io/io.js';
import { paint } from '../io/io.js';

/** What a log line has besides its own fields. */
interface LogLine extends Record<string, unknown> {
  level?: unknown;
  time?: unknown;
  msg?: unknown;
}

/** Lines that the welcome of `krmhub serve` replaces. */
const SAID = new Set(['admin token written', 'registry started']);
/** Fields of a request that its line already has, or that only a log needs. */
const REQUEST_FIELDS = new Set(['requestId', 'client', 'method', 'route', 'path', 'status', 'seconds']);

/** What the log of a registry writes to. */
type LogStream = Pick<Output, 'write' | 'writableLength' | 'on'>;

/** Returns a stream that turns the JSON lines of a log into lines for people, for a log on a terminal. */
export function terminalLog(io: Io): LogStream {
  const { stdout } = io;
  const write = (line: string, done?: (error?: Error | null) => void): boolean => {
    const text = line.split('\n').flatMap((one) => (one === '' ? [] : logText(io, one)));
    if (text.length === 0) {
      done?.();
      return true;
    }
    return stdout.write(`${text.join('\n')}\n`, done);
  };
  return {
    write: write as Output['write'],
    get writableLength() {
      return stdout.writableLength;
    },
    on: stdout.on.bind(stdout),
  };
}

/** Returns the lines for a JSON line of the log; none for one that says nothing new. Fields can come from a client. */
function logText(io: Io, json: string): string[] {
  let line: LogLine;
  try {
    line = JSON.parse(json);
  } catch {
    return [escapeControls(json)];
  }
  const { level, time, msg, ...fields } = line;
  if (level === 'info' && typeof msg === 'string' && SAID.has(msg)) return [];
  const clock = typeof time === 'string' ? clockTime(new Date(time)) : '';
  const isRequest = msg === 'request' && typeof fields.method === 'string';
  const what = isRequest ? requestText(io, fields) : oneLine(String(msg ?? ''));
  const rest = Object.entries(fields)
    .filter(([name]) => !isRequest || !REQUEST_FIELDS.has(name))
    .map(([name, value]) => `${oneLine(name)}=${oneLine(valueText(value))}`);
  const words = [paint(io, io.stdout, 'dim', clock), ...levelText(io, level), what];
  return [[...words, ...rest.map((field) => paint(io, io.stdout, 'dim', field))].join('  ')];
}

function requestText(io: Io, { method, path, status, seconds }: LogLine): string {
  const milliseconds = typeof seconds === 'number' ? ` ${Math.round(seconds * 1_000)} ms` : '';
  const code = String(status ?? '');
  const style = code.startsWith('5') ? 'red' : code.startsWith('4') ? 'yellow' : 'green';
  return `${oneLine(String(method))} ${oneLine(String(path ?? ''))} ${paint(io, io.stdout, style, oneLine(code))}${milliseconds}`;
}

function levelText(io: Io, level: unknown): string[] {
  if (level === 'info') return [];
  const name = oneLine(String(level ?? ''));
  return [paint(io, io.stdout, level === 'error' ? 'red' : level === 'warn' ? 'yellow' : 'dim', name)];
}

/** Of an actor, a person reads the name. */
function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string')
    return value.name;
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Local time of day, as a terminal user expects it. */
function clockTime(time: Date): string {
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
