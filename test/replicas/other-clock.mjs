/** Imported by a process whose clock is to be minutes ahead or behind. */
const shift = Number(process.env.TEST_CLOCK_MINUTES) * 60_000;
const now = Date.now.bind(Date);

globalThis.Date = class extends Date {
  constructor(...given) {
    if (given.length === 0) super(now() + shift);
    else super(...given);
  }

  static now() {
    return now() + shift;
  }
};
