<#
.SYNOPSIS
Installs greeksd for this user and puts it on the PATH, or takes it away.

.DESCRIPTION
Needs no administrator. Run it where the archive was unpacked. Open terminals see the new PATH after they are opened again.

.PARAMETER Into
The folder to install to.

.PARAMETER Uninstall
Takes the program and its place on the PATH away. Saved state and configuration stay; their folders are printed.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File install.ps1
#>
[CmdletBinding()]
param(
    [string] $Into = (Join-Path $env:LOCALAPPDATA 'Programs\greeksd'),
    [switch] $Uninstall
)
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

function Set-UserPath([string] $Folder, [bool] $IsOnIt) {
    # the registry itself: the environment's copy has variables replaced by their values
    $key = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('Environment', $true)
    try {
        $before = [string] $key.GetValue('Path', '', 'DoNotExpandEnvironmentNames')
        $parts = @($before -split ';' | Where-Object { $_ -and $_.TrimEnd('\') -ne $Folder })
        if ($IsOnIt) { $parts += $Folder }
        $key.SetValue('Path', ($parts -join ';'), 'ExpandString')
    } finally {
        $key.Close()
    }
    # tells running programs, such as the Explorer, that the environment has changed
    [Environment]::SetEnvironmentVariable('GREEKSD_INSTALLING', $null, 'User')
}

function Stop-IfRunning([string] $Folder) {
    $running = @(Get-Process -Name 'greeksd*' -ErrorAction SilentlyContinue | Where-Object { $_.Path -like "$Folder\*" })
    if ($running.Count -gt 0) {
        throw "greeksd is running from $Folder (process $($running[0].Id)): end it first, with Ctrl-C in its window"
    }
}

$bin = Join-Path $Into 'bin'
Stop-IfRunning $Into
if ($Uninstall) {
    Set-UserPath $bin $false
    if (Test-Path -LiteralPath (Join-Path $bin 'greeksd.exe')) { Remove-Item -LiteralPath $Into -Recurse -Force }
    Write-Output "greeksd is removed. State and configuration, if any, stay: $env:LOCALAPPDATA\greeksd and $env:APPDATA\greeksd"
    return
}
if (-not (Test-Path -LiteralPath (Join-Path $PSScriptRoot 'bin\greeksd.exe'))) {
    throw "bin\greeksd.exe is not beside this script: unpack the whole archive and run the script there"
}
if ($PSScriptRoot.TrimEnd('\') -eq $Into.TrimEnd('\')) { throw "$Into is what is installed: run the script of the archive" }
if ((Test-Path -LiteralPath $Into) -and -not (Test-Path -LiteralPath (Join-Path $bin 'greeksd.exe')) -and (Get-ChildItem -LiteralPath $Into -Force)) {
    throw "$Into has something else in it: name another folder with -Into"
}
# what an older version had and this one has not must not stay
if (Test-Path -LiteralPath $Into) { Remove-Item -LiteralPath $Into -Recurse -Force }
New-Item -ItemType Directory -Path $Into -Force | Out-Null
Copy-Item -Path (Join-Path $PSScriptRoot '*') -Destination $Into -Recurse -Force
# files of the net are marked, and asked about at every start
Get-ChildItem -LiteralPath $Into -Recurse -File | Unblock-File
Set-UserPath $bin $true
$version = & (Join-Path $bin 'greeksd.exe') --version
if ($LASTEXITCODE -ne 0) { throw "the program does not start: exit code $LASTEXITCODE" }
Write-Output "$version is in $Into. Open a new terminal and type: greeksd"
