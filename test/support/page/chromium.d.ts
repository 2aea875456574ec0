/** Reason of skipped tests where no browser is found. */
export declare const noChromium: string

/**
 * Returns the path of a Chromium or Chrome on this machine: the program that VOUCHERCTL_CHROMIUM names, else the first
 * one in PATH, else an application of macOS.
 */
export declare function findChromium(env?: NodeJS.ProcessEnv): string | undefined
