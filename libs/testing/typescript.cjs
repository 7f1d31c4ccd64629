// Lets a child process of a test run the sources as they are, without a build:
//   node --conditions=berth-source --require ./libs/testing/typescript.cjs services/cli/main.ts ...
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

const options = {
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...options, filename });
  // oxlint-disable-next-line no-underscore-dangle -- how Node's own loaders hand code over
  module._compile(code, filename);
};
process.setSourceMapsEnabled(true);
