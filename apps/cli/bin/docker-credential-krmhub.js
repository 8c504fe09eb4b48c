#!/usr/bin/env node
// The credential helper of docker that finds the tokens of krmhub: docker and others start it by this name.
process.argv.splice(2, 0, 'docker-credential');
await import('./krmhub.js');
