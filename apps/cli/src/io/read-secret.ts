import { KrmhubError } from '@krmhub/schema/error';
import { type Io, write } from './io.js';

const MAX_LENGTH = 8_192;
const ENTER = ['\r', '\n'];
const INTERRUPT = '\u0003';
const END_OF_INPUT = '\u0004';
const BACKSPACE = ['\u007f', '\b'];
const KILL_LINE = '\u0015';

/** Prompts for one line at a terminal without echo. Throws `usage` if the user interrupts. */
export async function readSecret(io: Io, prompt: string): Promise<string> {
  const { stdin } = io;
  await write(io.stderr, prompt);
  stdin.setRawMode?.(true);
  try {
    return await new Promise<string>((resolve, reject) => {
      let secret = '';
      const end = (finish: () => void) => {
        stdin.off('data', take).off('end', ended).off('error', reject);
        stdin.pause();
        finish();
      };
      const interrupted = () => reject(new KrmhubError('usage', 'interrupted: nothing was saved'));
      const ended = () => end(() => resolve(secret));
      const take = (chunk: Uint8Array | string) => {
        for (const key of Buffer.from(chunk as string).toString('utf8')) {
          if (key === INTERRUPT) return end(interrupted);
          if (ENTER.includes(key) || key === END_OF_INPUT) return ended();
          if (BACKSPACE.includes(key)) secret = secret.slice(0, -1);
          else if (key === KILL_LINE) secret = '';
          else if (secret.length < MAX_LENGTH) secret += key;
        }
      };
      stdin.on('data', take).on('end', ended).on('error', reject);
      stdin.resume();
    });
  } finally {
    stdin.setRawMode?.(false);
    await write(io.stderr, '\n');
  }
}
