// What makes the bundle start fast.
import { readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'

/**
 * Node's own modules by require(). An import of `node:http` reads all of its exports at once, and one of them is the
 * browser's WebSocket: 20 ms for something that nobody uses.
 */
export const builtinsByRequire = {
  name: 'builtins-by-require',
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z_0-9/]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined
      // What import() gives later must have exports by name, which a chunk made of require() has not.
      return kind === 'require-call' || kind === 'dynamic-import'
        ? { path, external: true }
        : { path, namespace: 'builtin', sideEffects: false }
    })
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/**
 * Files of ours take what they name out of Node's modules, and nothing else: for an import of CommonJS a bundle copies all
 * names of the module, once for each file that imports it.
 */
export const builtinsByName = {
  name: 'builtins-by-name',
  setup(build) {
    build.onLoad({ filter: /\/(src|sinks)\/.*\.ts$/ }, ({ path }) => ({
      contents: takeBuiltins(readFileSync(path, 'utf8')),
      loader: 'ts',
    }))
  },
}

const IMPORT = /^import (?!type )(?:\{([^}]*)\}|(\w+)) from '(node:[a-z_0-9/]+)'/gm

function takeBuiltins(text) {
  return text.replaceAll(IMPORT, (_, names, whole, module) => {
    const from = `process.getBuiltinModule('${module}')`
    if (whole) return `const ${whole} = /* @__PURE__ */ ${from}`
    const taken = names
      .split(',')
      .map((it) => it.trim())
      .filter((it) => it && !it.startsWith('type '))
    return taken.map((it) => takeOne(it, from)).join('; ')
  })
}

/** Pure, so that who does not need it does not get it. */
function takeOne(name, from) {
  const [theirs, ours = theirs] = name.split(' as ')
  return `const ${ours} = /* @__PURE__ */ (() => ${from}.${theirs})()`
}

/** Packages whose modules do nothing when they are loaded, though they don't say so: what nobody uses of them is left out. */
export function withoutSideEffects(...packages) {
  const asked = Symbol('asked')
  const belongs = (text) =>
    packages.some((name) => text.startsWith(name) || text.includes(`/node_modules/${name}/`))
  return {
    name: 'without-side-effects',
    setup(build) {
      build.onResolve(
        { filter: /.*/ },
        async ({ path, importer, resolveDir, kind, pluginData, with: attributes }) => {
          if (pluginData === asked || isBuiltin(path) || !(belongs(path) || belongs(importer)))
            return undefined
          // build.resolve() took 20 seconds for the thousands of relative imports of one package.
          const file = join(resolveDir, path)
          if (/^\.\.?\//.test(path) && isFile(file)) return { path: file, sideEffects: false }
          const found = await build.resolve(path, {
            importer,
            resolveDir,
            kind,
            pluginData: asked,
            with: attributes,
          })
          return found.external || found.errors.length > 0 ? found : { path: found.path, sideEffects: false }
        },
      )
    },
  }
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/**
 * Files that import() loads become one: each kind of way to load makes chunks of its own out of what the ways share, and a
 * start has to find and read them all.
 */
export function loadedTogether(name, files) {
  return {
    name: `loaded-together-${name}`,
    setup(build) {
      build.onResolve({ filter: /^\.\.?\/[\w/-]+\.ts$/ }, ({ path, resolveDir, kind }) =>
        kind === 'dynamic-import' && files.includes(join(resolveDir, path))
          ? { path: name, namespace: 'together' }
          : undefined,
      )
      build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'together' }, () => ({
        contents: files.map((file) => `export * from ${JSON.stringify(file)}`).join('\n'),
        resolveDir: '/',
      }))
    },
  }
}

/**
 * A package that a file loads by require() when it needs it: in the bundle it is a file of its own (an entry point), so that
 * a process which does not need it does not even read it.
 */
export function loadedLater(name, file, output) {
  return {
    name: `loaded-later-${name}`,
    setup(build) {
      build.onLoad({ filter: file }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replaceAll(`'${name}'`, `'./${output}.js'`),
        loader: 'ts',
      }))
    },
  }
}
