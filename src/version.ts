import manifest from '../package.json' with { type: 'json' }

export const version: string = manifest.version

/** How kubeherald introduces itself to API servers and sinks. */
export const userAgent = `kubeherald/${version}`

/** The commit that was built; undefined where the sources run, and where the build did not know it. */
export const commit: string | undefined = process.env['KUBEHERALD_COMMIT'] || undefined
