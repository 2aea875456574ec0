import process from 'node:process'

/** How a system differs from others. No other file of src/ asks which system it is. */
export interface Platform {
  /** Node reports the owner and the permission bits of files. */
  readonly hasOwners: boolean
  /** A folder can be opened and synced. */
  readonly syncsFolders: boolean
  /** A file can be removed while it is open. */
  readonly removesOpenFiles: boolean
  /** A signal can end a process with all processes that it started. */
  readonly hasProcessGroups: boolean
  /** Stdout takes UTF-8 bytes; a Windows console takes them only from process.stdout, which converts them. */
  readonly hasByteStdout: boolean
  /** The shell of a user without the variable SHELL. */
  readonly defaultShell: 'powershell' | undefined
  /** The folder of PowerShell's profile follows from the home folder. */
  readonly hasFixedPowershellProfile: boolean
  /** Terminals start login shells, which do not read .bashrc. */
  readonly startsLoginShells: boolean
  /** Programs with windows need a display that a variable names. */
  readonly namesDisplay: boolean
  /** Program, with arguments, that opens the URL that follows them. */
  readonly opener: readonly [program: string, ...args: string[]]
}

const unix: Platform = {
  hasOwners: true,
  syncsFolders: true,
  removesOpenFiles: true,
  hasProcessGroups: true,
  hasByteStdout: true,
  defaultShell: undefined,
  hasFixedPowershellProfile: true,
  startsLoginShells: false,
  namesDisplay: false,
  opener: ['xdg-open'],
}

const differences: { readonly [name in NodeJS.Platform]?: Partial<Platform> } = {
  darwin: { startsLoginShells: true, opener: ['open'] },
  linux: { namesDisplay: true },
  win32: {
    hasOwners: false,
    syncsFolders: false,
    removesOpenFiles: false,
    hasProcessGroups: false,
    hasByteStdout: false,
    defaultShell: 'powershell',
    hasFixedPowershellProfile: false,
    // `start` would need cmd, a shell that interprets & and % in the URL.
    opener: ['rundll32', 'url.dll,FileProtocolHandler'],
  },
}

export const platformOf = (name: NodeJS.Platform): Platform => ({ ...unix, ...differences[name] })

/** The system on which this process runs. */
export const platform: Platform = platformOf(process.platform)
