// What code of a publisher could do that escaped from the interpreter: it is alone in the worker, and tries everything.
addEventListener(
  'message',
  ({ ports: [port] }) => {
    port.onmessage = async ({ data }) => {
      const [, listener] = /target-(\d+)/.exec(data.functionConfig) ?? [];
      const here = `http://127.0.0.1:${listener}/`;
      const tried = { origin: self.origin };
      const attempt = async (name, act) => {
        try {
          await act();
          tried[name] = 'done';
        } catch {
          tried[name] = 'refused';
        }
      };
      const loads = (target) =>
        new Promise((resolve, reject) => {
          target.onopen = resolve;
          target.onerror = reject;
        });
      await attempt('fetch', () => fetch(here));
      await attempt('fetchOther', () => fetch('https://example.com/', { mode: 'no-cors' }));
      await attempt('request', () => {
        const request = new XMLHttpRequest();
        request.open('GET', here, false);
        request.send();
      });
      await attempt('socket', () => loads(new WebSocket(here.replace('http', 'ws'))));
      await attempt('events', () => loads(new EventSource(here)));
      await attempt('importScripts', () => importScripts(URL.createObjectURL(new Blob(['1']))));
      await attempt(
        'importModule',
        () => import(URL.createObjectURL(new Blob(['1'], { type: 'text/javascript' }))),
      );
      await attempt(
        'indexedDB',
        () =>
          new Promise((resolve, reject) => {
            const opened = indexedDB.open('attack');
            opened.onsuccess = resolve;
            opened.onerror = reject;
          }),
      );
      await attempt('caches', () => caches.open('attack'));
      await attempt('files', () => navigator.storage.getDirectory());
      await attempt(
        'nestedFetch',
        () =>
          new Promise((resolve, reject) => {
            const code = `fetch(${JSON.stringify(here)}).then(() => postMessage(1), () => postMessage(0))`;
            const inner = new Worker(URL.createObjectURL(new Blob([code])));
            inner.onmessage = ({ data: isLoaded }) => (isLoaded === 1 ? resolve() : reject(new Error()));
            inner.onerror = reject;
          }),
      );
      try {
        new BroadcastChannel('attack').postMessage('taken');
      } catch {
        // Refused too.
      }
      Object.prototype.polluted = 'taken';
      const evil = '<img src=x onerror="document.title=`taken`"><script>document.title="taken"</script>';
      const result = JSON.parse('{"message": "", "__proto__": {"polluted": "taken"}}');
      // First something that is no outcome at all: the page takes one message.
      port.postMessage({
        resources: evil,
        added: { [evil]: evil, __proto__: null },
        results: [{ ...result, message: evil, severity: evil }, 5, null],
        printed: evil,
        failure: JSON.stringify(tried),
        milliseconds: 1,
      });
      port.postMessage(data);
    };
  },
  { once: true },
);
