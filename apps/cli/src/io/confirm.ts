import { type Io, write } from './io.js';

const MAX_LENGTH = 1_024;

/** Asks a question at a terminal. Anything but yes is no, also the end of the input. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  const { stdin } = io;
  await write(io.stderr, `${question} [y/N] `);
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const finish = () => {
      stdin.off('data', take).off('end', finish).off('error', reject);
      stdin.pause();
      resolve(text);
    };
    const take = (chunk: Uint8Array | string) => {
      text += Buffer.from(chunk as string).toString('utf8');
      if (text.includes('\n') || text.length > MAX_LENGTH) finish();
    };
    stdin.on('data', take).on('end', finish).on('error', reject);
    stdin.resume();
  });
  return /^y(?:es)?$/i.test(answer.trim());
}
